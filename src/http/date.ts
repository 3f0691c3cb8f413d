/** `Date`, RFC 9110 section 6.6.1. */
let date = "";

/** The current value of the field. It is formatted once a second, as Node does. */
export function httpDate(): string {
  if (date === "") {
    const now = new Date();
    date = now.toUTCString();
    setTimeout(forget, 1000 - now.getMilliseconds()).unref();
  }
  return date;
}

function forget(): void {
  date = "";
}
