"""What every room may use: errors, identifiers. Pure."""
