"""DeleteTopics, by name and by id."""

import logging
from collections import Counter

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.controller.result import ControllerResult, check_record_count, error, message_of
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.image import MetadataImage
from ottla.metadata.records import MetadataRecord, RemoveTopicRecord
from ottla.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

logger = logging.getLogger(__name__)


def delete_topics(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: DeleteTopicsRequest,
) -> ControllerResult[DeleteTopicsResponse]:
    """Each topic asked for with its record or its error; TOPIC_DELETION_DISABLED where delete.topic.enable is off."""
    if not settings.delete_topic_enable:
        if context.api_version < 3:
            raise ApiError(ErrorCode.INVALID_REQUEST, "This version does not support topic deletion.")
        raise error(ErrorCode.TOPIC_DELETION_DISABLED)
    asked = [DeleteTopicState(name=name) for name in request.topic_names] + list(request.topics)
    names = Counter(state.name for state in asked if state.name is not None)
    ids = Counter(state.topic_id for state in asked if state.name is None)
    deleted: set[Uuid] = set()
    records: list[MetadataRecord] = []
    results = []
    told: set[str | Uuid | None] = set()
    # Ids go first: a name whose topic was named by its id, too, is the one that gets the error.
    for state in sorted(asked, key=lambda state: state.name is not None):
        duplicated = names[state.name] > 1 if state.name is not None else ids[state.topic_id] > 1
        key = state.name if state.name is not None else state.topic_id
        if duplicated and key in told:
            continue
        told.add(key)
        result = DeletableTopicResult(name=state.name, topic_id=state.topic_id)
        try:
            _check_state(state, duplicated)
            result.name, result.topic_id = _resolve(image, state)
            if result.topic_id in deleted or (state.name is not None and ids[result.topic_id] > 1):
                raise ApiError(
                    ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied."
                )
            context.apply_partition_change_quota(len(image.topics.by_id[result.topic_id].partitions))
        except KafkaError as failure:
            result.error_code, result.error_message = failure.code, message_of(failure)
        else:
            deleted.add(result.topic_id)
            records.append(RemoveTopicRecord(topic_id=result.topic_id))
        results.append(result)
        outcome = ErrorCode(result.error_code).name if result.error_code else "SUCCESS"
        logger.info("DeleteTopics result: {id: %s, name: %s, result: %s}", result.topic_id, result.name, outcome)
    check_record_count(records)
    return ControllerResult(records, DeleteTopicsResponse(responses=results))


def _check_state(state: DeleteTopicState, duplicated: bool) -> None:
    if state.name is None and state.topic_id == ZERO_UUID:
        reason = "Neither topic name nor id were specified."
    elif state.name is not None and state.topic_id != ZERO_UUID:
        reason = "You may not specify both topic name and topic id."
    elif duplicated:
        reason = "Duplicate topic id." if state.name is None else "Duplicate topic name."
    else:
        return
    raise ApiError(ErrorCode.INVALID_REQUEST, reason)


def _resolve(image: MetadataImage, state: DeleteTopicState) -> tuple[str, Uuid]:
    topic = image.topics.by_id.get(state.topic_id) if state.name is None else image.topics.by_name.get(state.name)
    if topic is None:
        raise error(ErrorCode.UNKNOWN_TOPIC_ID if state.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return topic.name, topic.id
