// Converts the results of slippi-js for comparison.
//
// Absent, null and NaN values are omitted.
// Arrays with holes (players, followers) become objects keyed by index, so that a hole is not a null.

// Deletes absent values inside a value. Returns whether the value itself is absent.
function isAbsent(value) {
  if (value == null || Number.isNaN(value)) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) {
    value.forEach(isAbsent);
    return false;
  }
  for (const key of Object.keys(value)) if (isAbsent(value[key])) delete value[key];
  return false;
}

const keyed = (list) => list && Object.fromEntries(Object.entries(list).filter(([, value]) => value != null));

function frame(entry) {
  const { isTransferComplete, players, followers, ...rest } = entry;
  return { ...rest, players: keyed(players), followers: keyed(followers) };
}

module.exports = { frame, isAbsent };
