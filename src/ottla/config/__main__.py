"""Print the configuration reference: ``python -m ottla.config > docs/configuration.md``."""

import sys

from ottla.config.documentation import render_configuration

sys.stdout.write(render_configuration())
