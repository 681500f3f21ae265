"""Declares the queue of deliveries, which other parts use to post to web servers."""

from __future__ import annotations

from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row

PART = Part(
    name="deliveries",
    start="slpstream.parts.deliveries.delivery_queue:DeliveryQueue",
    alias="webhook",
    metrics=[
        Row(
            "slpstream_webhook_deliveries_total",
            "counter",
            "Webhook deliveries, by outcome: delivered, retried, rejected (refused several times, lost), given_up (not "
            "accepted in time, lost).",
            ("outcome",),
        ),
        Row("slpstream_webhook_waiting_deliveries", "gauge", "Deliveries not accepted yet.", ("webhook",)),
        Row("slpstream_webhook_lag_seconds", "gauge", "Age of the oldest waiting delivery.", ("webhook",)),
        Row(
            "slpstream_webhook_gone",
            "gauge",
            "1 after the receiver has answered 410; deliveries resume when the daemon restarts.",
            ("webhook",),
        ),
    ],
)
