/** The home directory as people write it. For their eyes only: JSON, messages and what is copied keep whole paths. */

/** `text` with `~` where a path in it begins with the home directory. */
export function abridged(text: string, home: string): string {
  if (home.length < 2 || !text.includes(home)) return text;
  let out = '', from = 0;
  for (let at = text.indexOf(home); at !== -1; at = text.indexOf(home, at + home.length)) {
    const before = text[at - 1], after = text[at + home.length];
    // Only a path of its own, and only whole names: /home/ann is no part of /home/anna or /mnt/home/ann.
    const whole = (before === undefined || /[\s"'=:,([]/.test(before)) && (after === undefined || /[\\/\s"':,)\]]/.test(after));
    if (!whole) continue;
    out += `${text.slice(from, at)}~`;
    from = at + home.length;
  }
  return out + text.slice(from);
}
