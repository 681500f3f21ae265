"""Where replay bytes come from: files that grow, and replays in archives."""
