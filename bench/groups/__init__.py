"""The coordinators of groups and transactions, beside Apache's; sections of ``python -m bench broker``."""
