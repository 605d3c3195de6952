r"""``ottla cat``: send and read records as kcat does.

  ottla cat -b HOST:PORT -L [-t TOPIC]                       brokers, topics and partitions
  ottla cat -b HOST:PORT -P -t TOPIC [FILE…]                 send standard input, a message a line; or files
  ottla cat -b HOST:PORT -C -t TOPIC [-p N] [-o WHERE] [-e]  print records
  ottla cat -b HOST:PORT -G GROUP TOPIC…                     print topics as a member of a group
  ottla cat -b HOST:PORT -Q -t TOPIC:PARTITION:MS            the first offset at or after a time
  -X transactional.id=ID                                     with -P: send all of it in one transaction
-f prints what it says: %t topic, %p partition, %o offset, %T timestamp, %k key, %K its length, %s value, %S its length
(%R: in 4 bytes), %h headers, %% and \n \r \t \xNN.
-o is beginning, end, stored, N, -N (before the end), s@MS (since), e@MS (until).
-s key=PACK, -s value=PACK or -s PACK (both) shows numbers: < and > for the byte order (big unless given), b B h H i I q
Q for numbers of 1, 2, 4 and 8 bytes (large letters: without sign), c a character, s the rest, $ the end.
$KCAT_CONFIG names a properties file as -F does.
"""

import argparse
import os
from collections.abc import Sequence
from typing import Final

from ottla.cli.arguments import CommandParser
from ottla.cli.errors import UsageError
from ottla.version import version_line

_REQUEST_TIMEOUT_MS: Final = 30_000
LIBRDKAFKA: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "compression.codec": "compression.type",
    "ssl.ca.location": "ssl.truststore.location",
}
"""Names that librdkafka has for keys of Kafka's."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = CommandParser(prog="ottla cat", description=(__doc__ or "").replace("``", ""))
    mode = made.add_mutually_exclusive_group()
    mode.add_argument("-P", dest="mode", action="store_const", const="P", help="produce")
    mode.add_argument("-C", dest="mode", action="store_const", const="C", help="consume")
    mode.add_argument("-L", dest="mode", action="store_const", const="L", help="list metadata")
    mode.add_argument("-Q", dest="mode", action="store_const", const="Q", help="query offsets by time")
    mode.add_argument("-G", dest="group", metavar="GROUP", help="consume as a member of a group")
    made.add_argument("-b", dest="brokers", metavar="HOST:PORT,…", help="brokers to connect to")
    made.add_argument("-t", dest="queries", action="append", metavar="TOPIC", help="the topic")
    made.add_argument("-p", dest="partition", type=int, metavar="N", help="the partition; -1 for all, or any")
    made.add_argument("-o", dest="offset", action="append", metavar="WHERE", help="where to begin; see above")
    made.add_argument("-c", dest="count", type=int, metavar="N", help="end after so many messages")
    made.add_argument("-e", dest="exit_at_end", action="store_true", help="end at the end of the partitions")
    made.add_argument("-K", dest="key_delimiter", metavar="TEXT", help="what stands between key and value")
    made.add_argument("-D", dest="delimiter", default="\\n", metavar="TEXT", help="what stands between messages")
    made.add_argument("-k", dest="key", metavar="KEY", help="the key of all messages sent")
    made.add_argument("-H", dest="header", action="append", metavar="KEY=VALUE", help="a header of all messages sent")
    made.add_argument("-Z", dest="null", action="store_true", help="send empty as null; print null as NULL")
    made.add_argument("-z", dest="codec", metavar="CODEC", help="compress with gzip, snappy, lz4 or zstd")
    made.add_argument("-f", dest="format", metavar="FORMAT", help="what to print of a record; see above")
    made.add_argument("-s", dest="packs", action="append", default=[], metavar="PACK", help="read numbers; see above")
    made.add_argument("-J", "--json", dest="json", action="store_true", help="print JSON, a document a line")
    made.add_argument("-X", dest="setting", action="append", metavar="KEY=VALUE", help="a setting of the client")
    made.add_argument("-F", dest="file", metavar="FILE", help="a properties file for the client")
    made.add_argument("-l", dest="lines", action="store_true", help="split files as standard input is split")
    made.add_argument("-T", dest="tee", action="store_true", help="print what is sent, too")
    made.add_argument("-q", dest="quiet", action="store_true", help="say nothing but records and errors")
    made.add_argument("-m", dest="patience_s", type=int, metavar="N", help="seconds to wait for the cluster")
    made.add_argument("-E", dest="go_on", action="store_true", help="go on after a record that cannot be shown")
    made.add_argument("-d", dest="debug", metavar="WHAT", help="log what the client does")
    made.add_argument("-v", dest="verbose", action="count", help="nothing: for the habit")
    made.add_argument("-O", dest="offsets", action="store_true", help="nothing: for the habit")
    made.add_argument("-V", "--version", action="version", version=version_line(), help="print the version")
    made.add_argument("-u", dest="unbuffered", action="store_true", help="nothing: for the habit")
    made.add_argument("files", nargs="*", metavar="FILE", help="files to send; topics with -G")
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the mode says; without one, a terminal reads and a pipe sends."""
    from ottla.cli.client_options import known_only, run_client

    options = parser().parse_intermixed_args(arguments)
    options.queries = options.queries or []
    options.topic = options.queries[0] if options.queries else None
    if options.partition == -1:
        options.partition = None
    if options.debug is not None:
        import logging

        logging.basicConfig(level=logging.DEBUG, format="%% %(levelname)s %(name)s: %(message)s")
    mode = "G" if options.group is not None else options.mode or ("C" if os.isatty(0) else "P")
    settings = _settings(options, mode)
    if mode == "L":
        from ottla.cli.cat_list import list_metadata
        from ottla.config.admin_keys import ADMIN_CONFIG

        return run_client(list_metadata(known_only(settings, ADMIN_CONFIG), options))
    if mode == "P":
        from ottla.cli.cat_produce import produce
        from ottla.config.producer_keys import PRODUCER_CONFIG

        return run_client(produce(known_only(settings, PRODUCER_CONFIG), options))
    from ottla.cli import cat_consume
    from ottla.config.consumer_keys import CONSUMER_CONFIG

    work = {"C": cat_consume.consume, "G": cat_consume.join_group, "Q": cat_consume.query}[mode]
    return run_client(work(known_only(settings, CONSUMER_CONFIG), options))


def _settings(options: argparse.Namespace, mode: str) -> dict[str, str]:
    from ottla.cli.client_options import check_servers, key_values
    from ottla.cli.connection import read_properties

    file = options.file if options.file is not None else os.environ.get("KCAT_CONFIG")
    settings = read_properties(file) if file is not None else {}
    settings |= key_values(options.setting or ())
    settings = {LIBRDKAFKA.get(key, key.removeprefix("topic.")): value for key, value in settings.items()}
    if options.brokers is not None:
        settings["bootstrap.servers"] = ",".join(
            each if ":" in each else f"{each}:9092" for each in options.brokers.split(",")
        )
    if options.patience_s is not None and mode == "P":
        settings["max.block.ms"] = str(options.patience_s * 1000)
    elif options.patience_s is not None:
        settings["default.api.timeout.ms"] = str(options.patience_s * 1000)
        settings["request.timeout.ms"] = str(min(options.patience_s * 1000, _REQUEST_TIMEOUT_MS))
    if "bootstrap.servers" not in settings:
        raise UsageError("-b broker missing")
    check_servers(settings["bootstrap.servers"])
    return settings
