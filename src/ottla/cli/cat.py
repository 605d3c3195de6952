r"""``ottla cat``: send and read records as kcat does.

  ottla cat -b HOST:PORT -L [-t TOPIC]                       brokers, topics and partitions
  ottla cat -b HOST:PORT -P -t TOPIC [FILE…]                 send standard input, a message a line; or files
  ottla cat -b HOST:PORT -C -t TOPIC [-p N] [-o WHERE] [-e]  print records
  ottla cat -b HOST:PORT -G GROUP TOPIC…                     print topics as a member of a group
  ottla cat -b HOST:PORT -Q -t TOPIC:PARTITION:MS            the first offset at or after a time
-f prints what it says: %t topic, %p partition, %o offset, %T timestamp, %k key, %K its length, %s value, %S its length,
%h headers, %% and \n \r \t \xNN. -o is beginning, end, stored, N, -N (before the end), s@MS (since), e@MS (until).
"""

import argparse
import os
from collections.abc import Sequence
from typing import Final

from ottla.cli.arguments import CommandParser
from ottla.cli.errors import UsageError

LIBRDKAFKA: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "compression.codec": "compression.type",
    "ssl.ca.location": "ssl.truststore.location",
}
"""Names that librdkafka has for keys of Kafka's."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = CommandParser(prog="ottla cat", description=__doc__)
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
    made.add_argument("-J", "--json", dest="json", action="store_true", help="print JSON, a document a line")
    made.add_argument("-X", dest="setting", action="append", metavar="KEY=VALUE", help="a setting of the client")
    made.add_argument("-F", dest="file", metavar="FILE", help="a properties file for the client")
    made.add_argument("-l", dest="lines", action="store_true", help="split files as standard input is split")
    made.add_argument("-T", dest="tee", action="store_true", help="print what is sent, too")
    made.add_argument("-q", dest="quiet", action="store_true", help="say nothing but records and errors")
    made.add_argument("-u", dest="unbuffered", action="store_true", help="print each record at once")
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
    mode = "G" if options.group is not None else options.mode or ("C" if os.isatty(0) else "P")
    settings = _settings(options)
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


def _settings(options: argparse.Namespace) -> dict[str, str]:
    from ottla.cli.client_options import check_servers, key_values
    from ottla.cli.connection import read_properties

    settings = read_properties(options.file) if options.file is not None else {}
    settings |= key_values(options.setting or ())
    settings = {LIBRDKAFKA.get(key, key.removeprefix("topic.")): value for key, value in settings.items()}
    if options.brokers is not None:
        settings["bootstrap.servers"] = ",".join(
            each if ":" in each else f"{each}:9092" for each in options.brokers.split(",")
        )
    if "bootstrap.servers" not in settings:
        raise UsageError("-b broker missing")
    check_servers(settings["bootstrap.servers"])
    return settings
