"""What ``ottla features`` knows without a cluster: the levels of releases, and what levels need."""

from collections.abc import Mapping, Sequence
from typing import Final

from ottla.cli.errors import CommandError
from ottla.cli.output import Output, Table
from ottla.metadata.features import FEATURES, METADATA_VERSION, default_level
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion

__all__ = [
    "METADATA_VERSION",
    "level_text",
    "release_levels",
    "show_dependencies",
    "show_version_mapping",
    "version_of",
]


def version_of(text: str) -> MetadataVersion:
    """The metadata.version of a release."""
    try:
        return MetadataVersion.from_version_string(text)
    except ValueError as error:
        raise CommandError(str(error)) from None


def release_levels(release: str) -> Mapping[str, int]:
    """The levels that all features have in a release."""
    version = version_of(release)
    return {METADATA_VERSION: int(version), **{name: default_level(name, version) for name in FEATURES}}


def level_text(feature: str, level: int) -> str:
    """A level as people say it: that of metadata.version is a release."""
    if feature != METADATA_VERSION:
        return str(level)
    try:
        return MetadataVersion.from_feature_level(level).version
    except ValueError:
        return f"UNKNOWN {level}"


def show_version_mapping(release: str | None, output: Output) -> None:
    """The levels of a release; without one, of the latest."""
    name = LATEST_PRODUCTION.version if release is None else release
    levels = dict(release_levels(name))
    metadata = levels.pop(METADATA_VERSION)
    output.show(
        {METADATA_VERSION: {"level": metadata, "version": level_text(METADATA_VERSION, metadata)}, "features": levels},
        [f"{METADATA_VERSION}={metadata} ({name})", *(f"{feature}={level}" for feature, level in levels.items())],
        [Table(("Feature", "Level"), [(METADATA_VERSION, f"{metadata} ({name})"), *levels.items()])],
    )


NO_LEVEL: Final = "No feature:{name} with feature level {level}"


def show_dependencies(features: Sequence[tuple[str, int]], output: Output, no_level: str = NO_LEVEL) -> None:
    """What each feature needs at its level; ``no_level`` says that there is no such level, as each tool does."""
    document, lines = [], []
    for name, level in features:
        requires = _requires(name, level, no_level)
        document.append({"feature": name, "level": level, "requires": dict(requires)})
        said = f"{name}={level}"
        if name == METADATA_VERSION:
            said += f" ({level_text(name, level)})"
        if not requires:
            lines.append(f"{said} has no dependencies.")
        else:
            lines.append(f"{said} requires:")
            lines += [_needed(*each) for each in requires.items()]
    output.show(document, lines)


def _requires(name: str, level: int, no_level: str) -> Mapping[str, int]:
    if name == METADATA_VERSION:
        try:
            MetadataVersion.from_feature_level(level)
        except ValueError:
            raise CommandError(f"Unknown metadata.version {level}") from None
        return {}
    levels = FEATURES.get(name)
    if levels is None:
        raise CommandError(f"Unknown feature: {name}", hint="`ottla features version-mapping` shows which there are")
    if not 0 <= level < len(levels):
        raise CommandError(no_level.format(name=name, level=level))
    return {feature: int(needed) for feature, needed in levels[level].dependencies.items()}


def _needed(name: str, level: int) -> str:
    version = f" ({level_text(name, level)})" if name == METADATA_VERSION else ""
    return f"    {name}={level}{version}"
