"""Decodes what was sent with OpenTelemetry's own definitions, and prints what it says."""

import json
import sys

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2


def plain(attributes):
    kinds = {"string_value": str, "int_value": int}
    found = {}
    for pair in attributes:
        kind = pair.value.WhichOneof("value")
        found[pair.key] = kinds[kind](getattr(pair.value, kind))
    return found


def unknown(message):
    # Fields that the definitions do not have would be left over when it is written again.
    return message.ByteSize() != len(message.SerializeToString())


tokens, cost, spans = {}, 0.0, []
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    if "metrics" in path:
        request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(data)
        tokens, cost = {}, 0.0
        for resource in request.resource_metrics:
            assert plain(resource.resource.attributes)["service.name"] == "claude-code"
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == "gen_ai.client.token.usage":
                        assert metric.unit == "{token}"
                        assert metric.histogram.aggregation_temporality == 2
                        for point in metric.histogram.data_points:
                            kind = plain(point.attributes)["gen_ai.token.type"]
                            tokens[kind] = tokens.get(kind, 0) + int(point.sum)
                            assert point.start_time_unix_nano < point.time_unix_nano
                    elif metric.name == "recto.usage.cost":
                        assert metric.sum.is_monotonic
                        cost += sum(point.as_double for point in metric.sum.data_points)
    else:
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(data)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    assert len(span.trace_id) == 16 and len(span.span_id) == 8
                    assert span.start_time_unix_nano <= span.end_time_unix_nano
                    spans.append({
                        "name": span.name,
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex(),
                        "trace": span.trace_id.hex(),
                        "failed": span.status.code == 2,
                        "attributes": plain(span.attributes),
                    })
    assert not unknown(request)
    assert request.SerializeToString(deterministic=True) is not None
print(json.dumps({"tokens": tokens, "cost": cost, "spans": spans}))
