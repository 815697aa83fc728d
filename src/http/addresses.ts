/** What kind of place an address is. Decides whether a public server may lead us there. */
import * as dns from 'node:dns';
import { BlockList, isIP } from 'node:net';

export type AddressKind = 'public' | 'private' | 'link-local';

type Subnet = readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'];
const LINK_LOCAL: readonly Subnet[] = [['169.254.0.0', 16, 'ipv4'], ['fe80::', 10, 'ipv6']];
/** Loopback, private, carrier-grade NAT, benchmarking, multicast, reserved and unspecified. */
const PRIVATE: readonly Subnet[] = [
  ['0.0.0.0', 8, 'ipv4'], ['10.0.0.0', 8, 'ipv4'], ['100.64.0.0', 10, 'ipv4'], ['127.0.0.0', 8, 'ipv4'], ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'], ['192.168.0.0', 16, 'ipv4'], ['198.18.0.0', 15, 'ipv4'], ['224.0.0.0', 4, 'ipv4'], ['240.0.0.0', 4, 'ipv4'],
  ['::', 127, 'ipv6'], ['fc00::', 7, 'ipv6'], ['fec0::', 10, 'ipv6'], ['ff00::', 8, 'ipv6'],
];

function listOf(subnets: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix, family] of subnets) list.addSubnet(network, prefix, family);
  return list;
}
const linkLocal = listOf(LINK_LOCAL), notPublic = listOf(PRIVATE);

/** Of an IP literal, with or without brackets; IPv4 inside IPv6 counts as what it is. Text that is no address is `private`. */
export function addressKind(address: string): AddressKind {
  const literal = bare(address).replace(/%.*$/, '');
  const family = isIP(literal);
  if (family === 0) return 'private';
  const name = family === 4 ? 'ipv4' : 'ipv6';
  if (linkLocal.check(literal, name)) return 'link-local';
  return notPublic.check(literal, name) ? 'private' : 'public';
}

/** True for names and literals that can only mean this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = bare(host);
  return /^(?:.*\.)?localhost\.?$/i.test(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** True when a host is reached at private addresses only. A name that cannot be resolved counts as public, the stricter reading. */
export async function isPrivateHost(host: string): Promise<boolean> {
  const name = bare(host);
  if (isIP(name) !== 0) return addressKind(name) !== 'public';
  if (isLoopbackHost(name)) return true;
  const addresses = await dns.promises.lookup(name, { all: true }).catch(() => []);
  return addresses.length > 0 && addresses.every(({ address }) => addressKind(address) !== 'public');
}

function bare(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}
