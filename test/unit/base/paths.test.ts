import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolvePaths } from '../../../src/base/paths.ts';

test('resolvePaths() follows the XDG defaults and variables on Linux', () => {
  const plain = resolvePaths({ platform: 'linux', home: '/home/ada', environment: {} });
  assert.deepEqual(plain, { home: '/home/ada', config: '/home/ada/.config/zuno', data: '/home/ada/.local/share/zuno', cache: '/home/ada/.cache/zuno', state: '/home/ada/.local/state/zuno', managed: '/etc/zuno' });
  const moved = resolvePaths({ platform: 'linux', home: '/h', environment: { XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', XDG_CACHE_HOME: '/k', XDG_STATE_HOME: '/s' } });
  assert.deepEqual([moved.config, moved.data, moved.cache, moved.state], ['/c/zuno', '/d/zuno', '/k/zuno', '/s/zuno']);
});

test('resolvePaths() ignores an XDG variable that is not absolute', () => {
  for (const value of ['', 'relative', './x']) assert.equal(resolvePaths({ platform: 'linux', home: '/h', environment: { XDG_CONFIG_HOME: value } }).config, '/h/.config/zuno');
});

test('resolvePaths() uses the known folders on Windows', () => {
  const environment = { APPDATA: 'C:\\Users\\ada\\AppData\\Roaming', LOCALAPPDATA: 'D:\\Local', ProgramData: 'E:\\PD' };
  const paths = resolvePaths({ platform: 'win32', home: 'C:\\Users\\ada', environment });
  assert.deepEqual([paths.config, paths.data, paths.cache, paths.state, paths.managed], ['C:\\Users\\ada\\AppData\\Roaming\\zuno', 'D:\\Local\\zuno', 'D:\\Local\\cache\\zuno', 'D:\\Local\\state\\zuno', 'E:\\PD\\zuno']);
  const bare = resolvePaths({ platform: 'win32', home: 'C:\\Users\\ada', environment: {} });
  assert.deepEqual([bare.config, bare.data, bare.managed], ['C:\\Users\\ada\\AppData\\Roaming\\zuno', 'C:\\Users\\ada\\AppData\\Local\\zuno', 'C:\\ProgramData\\zuno']);
  assert.equal(resolvePaths({ platform: 'win32', home: 'C:\\h', environment: { PROGRAMDATA: 'F:\\PD', XDG_CONFIG_HOME: 'X:\\c' } }).managed, 'F:\\PD\\zuno');
  assert.equal(resolvePaths({ platform: 'win32', home: 'C:\\h', environment: { XDG_CONFIG_HOME: 'X:\\c' } }).config, 'X:\\c\\zuno');
});

test('resolvePaths() names the managed directory of macOS', () => {
  assert.equal(resolvePaths({ platform: 'darwin', home: '/Users/ada', environment: {} }).managed, '/Library/Application Support/zuno');
});

test('resolvePaths() names the managed preferences of macOS, the person\'s and above them the machine\'s', () => {
  const { managedPreferences } = resolvePaths({ platform: 'darwin', home: '/Users/ada', user: 'ada', environment: { USER: 'eve' } });
  assert.deepEqual(managedPreferences, ['/Library/Managed Preferences/ada/ai.zuno.managed.plist', '/Library/Managed Preferences/ai.zuno.managed.plist']);
  assert.equal(resolvePaths({ platform: 'darwin', home: '/Users/ada', environment: {} }).managedPreferences?.length, 1);
  assert.equal('managedPreferences' in resolvePaths({ platform: 'linux', home: '/h', environment: {} }), false);
});
