/** Points in time for people: as their clock shows them, and how far away they are. */

const two = (value: number): string => String(value).padStart(2, '0');

/** `2026-08-01 14:32`, in local time. */
export function localTime(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

const UNITS: readonly (readonly [seconds: number, name: string])[] = [[86_400, 'day'], [3_600, 'hour'], [60, 'minute'], [1, 'second']];

/** `in 58 minutes`, `3 days ago`, `now`. */
export function relativeTime(at: number, from = Date.now()): string {
  const seconds = Math.round(Math.abs(at - from) / 1000);
  const [size, name] = UNITS.find(([least]) => seconds >= least) ?? [1, 'second'];
  const count = Math.floor(seconds / size);
  if (count === 0) return 'now';
  const words = `${count} ${name}${count === 1 ? '' : 's'}`;
  return at > from ? `in ${words}` : `${words} ago`;
}

/** Both: `2026-08-01 14:32 (in 58 minutes)`. */
export function momentText(at: number): string {
  return `${localTime(at)} (${relativeTime(at)})`;
}
