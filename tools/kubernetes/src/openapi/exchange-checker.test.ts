import { describe, expect, it } from 'vitest';
import { ExchangeChecker, type Exchange } from './exchange-checker.js';

const checker = new ExchangeChecker();
const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'a', image: 'x' }] } };
const exchange = (changes: Partial<Exchange> & { path?: string }): Exchange => ({
  ...{ method: 'POST', url: new URL(changes.path ?? '/api/v1/namespaces/n/pods', 'http://fake') },
  ...{ body: pod, status: 201, answer: { ...pod, kind: 'Pod' }, ...changes },
});

describe('an exchange', () => {
  it('as the document of the server has it contradicts nothing', () => {
    expect(checker.check(exchange({}))).toEqual([]);
    const status = { kind: 'Status', status: 'Failure', message: 'no', code: 403 };
    expect(checker.check(exchange({ status: 403, answer: status }))).toEqual([]);
    expect(checker.checkEvent(new URL('http://fake/api/v1/pods'), { type: 'ADDED', object: pod })).toEqual([]);
  });

  it.each([
    ['a path that is not there', { path: '/api/v1/namespaces/n/pods/a/exit' }, 'no such call'],
    ['a query that is not there', { path: '/api/v1/namespaces/n/pods?colour=red' }, 'parameter "colour" is not known'],
    ['a field that is not there', { body: { ...pod, colour: 'red' } }, 'additional properties'],
    ['a field of another type', { body: { ...pod, spec: { containers: 'a' } } }, '/spec/containers must be array'],
    ['no field that must be there', { body: { ...pod, spec: {} } }, "must have required property 'containers'"],
    ['an answer with another status', { status: 207 }, 'no answer 207'],
    ['an answer of another kind', { answer: { ...pod, kind: 'Namespace' } }, 'kind Namespace, expected Pod'],
    ['an answer with a field that is not there', { answer: { status: { phases: [] } } }, 'additional properties'],
    ['a refusal that is no status', { status: 403, answer: pod }, 'additional properties'],
  ])('with %s contradicts it', (_what, changes, why) => {
    expect(checker.check(exchange(changes)).join('\n')).toContain(why);
  });

  it('with an event of another kind contradicts it', () => {
    const object = { metadata: { name: 'a' }, kind: 'Namespace' };

    expect(checker.checkEvent(new URL('http://fake/api/v1/pods'), { type: 'ADDED', object }).join()).toContain('kind');
  });
});
