"""SIGKILL of a broker under load: a short run here, a long one in ``python -m tests.chaos --broker``."""

from pathlib import Path

from tests.chaos.broker_session import BrokerSession

KILLS = 5


def test_a_killed_broker_has_what_it_acknowledged(tmp_path: Path) -> None:
    session = BrokerSession(tmp_path / "node", seed=1)
    session.run(KILLS)
    print(f"{session.kills} kills, {session.acknowledged} records")
    assert session.kills == KILLS
    assert session.acknowledged > 0
