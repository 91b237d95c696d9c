"""The measurements of a server, by the names of vLLM."""

from .prometheus import CounterMetric, GaugeMetric, HistogramMetric, Metric, label

FIRST_TOKEN_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
OUTPUT_TOKEN_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5)
LATENCY_BOUNDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class ServingMetrics:
    """The measurements of one scheduler, which alone writes here."""

    def __init__(self) -> None:
        self.prompt_tokens = CounterMetric(
            "graphc:prompt_tokens_total", "Tokens of prompts that were answered."
        )
        self.cached_tokens = CounterMetric(
            "graphc:prompt_tokens_cached_total", "Tokens of prompts that were computed before."
        )
        self.generation_tokens = CounterMetric(
            "graphc:generation_tokens_total", "Tokens that were generated."
        )
        self.finished = CounterMetric(
            "graphc:request_success_total", "Requests that ended.", "finished_reason"
        )
        self.failed = CounterMetric("graphc:request_failure_total", "Requests that failed.", "code")
        self.time_to_first_token = HistogramMetric(
            "graphc:time_to_first_token_seconds",
            "Time from the arrival of a request to its first token.",
            FIRST_TOKEN_BOUNDS,
        )
        self.time_per_output_token = HistogramMetric(
            "graphc:time_per_output_token_seconds",
            "Time from one token of a request to the next.",
            OUTPUT_TOKEN_BOUNDS,
        )
        self.latency = HistogramMetric(
            "graphc:e2e_request_latency_seconds",
            "Time from the arrival of a request to its end.",
            LATENCY_BOUNDS,
        )
        self.running = 0
        self.waiting = 0

    def render(self, model_name: str) -> str:
        """All of them in the text format of Prometheus."""
        labels = label("model_name", model_name)
        return "".join(f"{line}\n" for each in self._all() for line in each.lines(labels))

    def _all(self) -> list[Metric]:
        gauges = [
            GaugeMetric("graphc:num_requests_running", "Requests in slots.", lambda: self.running),
            GaugeMetric(
                "graphc:num_requests_waiting", "Requests in the queue.", lambda: self.waiting
            ),
        ]
        mine = [each for each in vars(self).values() if not isinstance(each, int)]
        return [*gauges, *mine]
