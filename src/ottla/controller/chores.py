"""What the active controller does again and again: signs of life, fencing, elections."""

import logging
from typing import Final

from ottla.common.errors import KafkaError
from ottla.controller.brokers import broker_fenced_records
from ottla.controller.driver import ControllerDriver
from ottla.controller.partitions import balance_partition_leaders, elect_unclean_leaders
from ottla.controller.periodic import PeriodicTask, PeriodicTasks
from ottla.controller.result import ControllerResult
from ottla.metadata.records import NoOpRecord

logger = logging.getLogger(__name__)

_STANDBY_TICK_MS: Final = 100
"""How soon a controller that became active notices that it has chores."""


class ControllerChores:
    """The periodic tasks of a driver; they begin anew with every epoch in which it is active."""

    def __init__(self, driver: ControllerDriver) -> None:
        self._driver = driver
        self._epoch: int | None = None
        settings = driver.settings
        periods = (
            ("writeNoOpRecord", self._write_no_op_record, settings.metadata_max_idle_interval_ms),
            ("maybeFenceStaleBroker", self._fence_stale_broker, max(1, settings.broker_session_timeout_ms // 8)),
            ("electPreferred", self._elect_preferred, settings.leader_imbalance_check_interval_ms),
            ("electUnclean", self._elect_unclean, settings.unclean_leader_election_interval_ms),
        )
        self._tasks = PeriodicTasks(*(PeriodicTask(name, run, period) for name, run, period in periods if period))

    def tick(self) -> int:
        """Run the tasks that are due; returns the milliseconds until it should be called again."""
        driver, tasks = self._driver, self._tasks
        now_ms = driver.clock.monotonic_ms()
        if driver.epoch != self._epoch:
            self._epoch = driver.epoch
            tasks.activate(now_ms)
        if driver.epoch is None:
            return _STANDBY_TICK_MS
        for task in tasks.take_due(now_ms):
            if driver.epoch is None:
                break
            try:
                again = task.run()
            except KafkaError:
                logger.exception("%s: periodic task failed", task.name)
                driver.metrics.metadata_error_count += 1
                tasks.reschedule(task, now_ms, failed=True)
            else:
                tasks.reschedule(task, now_ms, again=again)
        return max(tasks.next_due_ms() - now_ms, 0)

    def _write_no_op_record(self) -> bool:
        self._driver.append(ControllerResult([NoOpRecord()], None))
        return False

    def _fence_stale_broker(self) -> bool:
        """One at a time, so that the next decision sees the effect of this one."""
        driver = self._driver
        expired = driver.sessions.take_expired(driver.clock.monotonic_ms())
        if expired is None:
            return False
        image = driver.latest.image
        broker = image.cluster.brokers.get(expired.id)
        if broker is not None and broker.epoch == expired.epoch:
            logger.info("Fencing broker %d at epoch %d because its session has timed out.", *expired)
            records = broker_fenced_records(image, driver.settings, broker)
            driver.append(ControllerResult(records, None, is_atomic=False))
        return True

    def _elect_preferred(self) -> bool:
        return self._driver.append(balance_partition_leaders(self._driver.latest.image, self._driver.settings))

    def _elect_unclean(self) -> bool:
        return self._driver.append(elect_unclean_leaders(self._driver.latest.image, self._driver.settings))
