collect_ignore = ["ranks"]  # test_ranks.py runs it under the launcher
