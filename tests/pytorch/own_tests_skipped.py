"""Tests of PyTorch that do not apply to the backend "lacuna", each with its reason."""

SKIPPED: dict[str, str] = {
    "test_ddp_logging_data_cpu":
        "PyTorch logs every backend of another package as 'custom', and the test asks for its name",
    "test_monitored_barrier_*":
        "monitored_barrier is Gloo's alone; every barrier of lacuna names the ranks that are late",
}

# These are skipped too where --like names another backend.
SKIPPED_LIKE_OTHERS: dict[str, str] = {
    "test_get_backend": "it asks for the name of the other backend",
}
