/** Dates as text. */

const twoDigitTexts = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, "0"));

/** `07` for 7, up to 99. */
export function twoDigits(n: number): string {
  return twoDigitTexts[n] as string;
}

/** The dates of recent days: the timestamps of a list share few. */
const cacheSize = 64;
const days: number[] = new Array(cacheSize).fill(Number.NaN);
const dates: string[] = new Array(cacheSize).fill("");

/** `2024-01-31` for a day counted from 1970. */
export function dateOf(day: number): string {
  const place = day & (cacheSize - 1);
  if (days[place] !== day) {
    days[place] = day;
    dates[place] = formatDay(day);
  }
  return dates[place] as string;
}

/**
 * The date of a day, counted from 1970, without a Date, which takes several times as long. In years that begin in
 * March, the leap day comes last and any five months have 153 days
 * (https://howardhinnant.github.io/date_algorithms.html#civil_fromdays).
 */
function formatDay(day: number): string {
  const sinceYear0 = day + 719_468;
  const era = Math.floor(sinceYear0 / 146_097);
  const dayOfEra = sinceYear0 - era * 146_097;
  const leapDays = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - 365 * yearOfEra - Math.floor(yearOfEra / 4) + Math.floor(yearOfEra / 100);
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * month + 2) / 5) + 1;
  const year = era * 400 + yearOfEra + (month < 10 ? 0 : 1);
  return `${twoDigits(Math.floor(year / 100))}${twoDigits(year % 100)}-${twoDigits(month < 10 ? month + 3 : month - 9)}-${twoDigits(dayOfMonth)}`;
}
