"""The seats of the stations. Players can claim them on their phones.

To understand this part, begin with `claims`, which contains the seats and everything that a phone can do with them.
`people` takes care of the names, `tokens` makes the secrets that are in the codes, and `rate_limit` limits requests.
`seats` makes sure that the claims and the sets of the stations always agree. `offered_people` are the names that a
phone offers, `station_codes` are the codes that lead phones to a station, and `key_file` keeps the secret of the codes.
The HTTP endpoints are in `phone_api` and `code_api`.
"""
