import { expect, it } from 'vitest';
import { environment, portsFrom, urlOf, type Site } from './site.js';

const site: Site = { dir: '/cloud', ports: portsFrom(20_000), tokenSeconds: 60, pageSize: 10 };

it('gives each service its own port', () => {
  const ports = Object.values(site.ports);

  expect(new Set(ports).size).toBe(ports.length);
  expect([Math.min(...ports), Math.max(...ports)]).toEqual([20_000, 20_000 + ports.length - 1]);
  expect(urlOf(site, 'keystone', '/v3')).toBe('http://127.0.0.1:20000/v3');
});

it('does not pass the environment of this process to services', () => {
  expect(environment(site)).toMatchObject({ HOME: '/cloud/home', FAULTS_DIR: '/cloud/faults' });
  expect(environment(site)).not.toHaveProperty('PWD');
});
