"""The description of the HTTP API and of the websocket, `/openapi.json`, and the page that shows it, `/docs`."""
