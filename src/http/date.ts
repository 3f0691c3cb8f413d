/** `Date`, RFC 9110 section 6.6.1. */
let dateSecond = Number.NaN;
let date = "";

/** The current value of the field. It is formatted once a second. */
export function httpDate(): string {
  const nowMs = Date.now();
  const second = Math.floor(nowMs / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(nowMs).toUTCString();
  }
  return date;
}
