/** A hint is often written where nobody knows which server it is about; whoever shows it does. */
export function addressed(hint: string, server: string): string {
  return hint.replace(/\b(zuno-lite mcp [a-z]+) NAME\b/g, (_, command: string) => `${command} ${server}`);
}
