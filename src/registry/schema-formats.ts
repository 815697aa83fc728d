/** The formats that MCP elicitation knows. Elsewhere `format` is an annotation and not checked. */

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

function isDate(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null) return false;
  const year = Number(parts[1]), month = Number(parts[2]), day = Number(parts[3]);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day >= 1 && day <= (days[month - 1] ?? 0);
}

function isUri(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+$/.test(text)) return false;
  try {
    return new URL(text).protocol !== '';
  } catch {
    return false;
  }
}

/** Each with the words for a person: must be <words>. */
export const formats: Readonly<Record<string, { readonly test: (text: string) => boolean; readonly words: string }>> = {
  email: { test: (text) => /^[^\s@"<>()]{1,64}@[^\s@"<>()]{1,255}$/.test(text), words: 'an e-mail address' },
  uri: { test: isUri, words: 'an absolute URI' },
  date: { test: isDate, words: 'a date like 2026-07-28' },
  'date-time': { test: (text) => /^.{10}[Tt]/.test(text) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11)), words: 'a date and time like 2026-07-28T09:30:00Z' },
};
