"""Sentences about a transaction: since when it is open, whom it holds back, and how it ends. Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.cli.explanations import Explanation, HeldPartition
from ottla.cli.topic_explanation import duration

if TYPE_CHECKING:
    from ottla.clients.admin import TransactionDescription
    from ottla.common.topic_partition import TopicPartition


def explain_transaction(
    transaction: "TransactionDescription", held: "Mapping[TopicPartition, HeldPartition]", now_ms: int
) -> Explanation:
    """``held`` are the partitions of an open transaction that could be asked."""
    told = Explanation()
    told.say(
        f"Transactional id {transaction.transactional_id} is in state {transaction.state}: producer "
        f"{transaction.producer_id} "
        f"with epoch {transaction.producer_epoch}, coordinated by broker {transaction.coordinator_id}."
    )
    match transaction.state.name:
        case "EMPTY":
            told.say("Nothing was sent in its name yet, or nothing since it was initialized.")
        case "COMPLETE_COMMIT":
            told.say("Its last transaction was committed; none is open.")
        case "COMPLETE_ABORT":
            told.say("Its last transaction was aborted; none is open.")
        case "ONGOING":
            _explain_open(transaction, now_ms, told)
        case "PREPARE_COMMIT" | "PREPARE_ABORT":
            outcome = "commit" if transaction.state.name == "PREPARE_COMMIT" else "abort"
            told.say(
                f"The {outcome} is decided; the coordinator waits until its marker is written to "
                f"{_listed(transaction) or 'all partitions'}.",
                "If this lasts, a leader of these partitions cannot be reached: `ottla topics --describe "
                "--unavailable-partitions` finds it.",
            )
        case "PREPARE_EPOCH_FENCE":
            told.say("A new producer takes the id over; the old one is being shut out.")
    for partition, place in sorted(held.items()):
        hidden = place.high_watermark - place.last_stable_offset
        begins = f" from offset {place.start_offset} on" if place.start_offset is not None else ""
        told.say(
            f"On {partition} it has records{begins}; readers of committed records get to offset "
            f"{place.last_stable_offset} of "
            f"{place.high_watermark}, so {hidden} offsets are held back."
        )
    return told


def _explain_open(transaction: "TransactionDescription", now_ms: int, told: Explanation) -> None:
    if transaction.start_time_ms is None:
        told.say("It is open, since when is not known.")
        return
    open_ms = max(0, now_ms - transaction.start_time_ms)
    left_ms = transaction.timeout_ms - open_ms
    told.say(
        f"It is open for {duration(open_ms // 1000 * 1000) if open_ms >= 1000 else f'{open_ms} ms'}, in "
        f"{_listed(transaction) or 'no partition yet'}."
    )
    abort = f"`ottla transactions forceTerminateTransaction --transactionalId {transaction.transactional_id}`"
    if left_ms > 0:
        told.say(
            f"The coordinator aborts it in {left_ms // 1000} s if its producer does not end it "
            f"(transaction.timeout.ms is "
            f"{transaction.timeout_ms}).",
            f"To end it now, let its producer commit or abort, or abort it with {abort}.",
        )
    else:
        told.say(
            "Its time is over; the coordinator should have aborted it.",
            f"Abort it with {abort}; if the coordinator knows nothing of it, `ottla transactions find-hanging` "
            f"finds what is "
            "left, and `ottla transactions abort` ends that.",
        )


def _listed(transaction: "TransactionDescription") -> str:
    return ", ".join(map(str, sorted(transaction.partitions)))
