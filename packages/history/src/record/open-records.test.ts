import { describe, expect, it } from 'vitest';
import { node, request } from '../../test/support/records.js';
import { pastEvent } from './event.js';
import { GroupLog } from './group-log.js';
import { OpenNode, OpenRequest } from './open-records.js';

const ID = '200-0000000001';

describe('an open request', () => {
  it('writes its facts once, and each event once', () => {
    const open = new OpenRequest(request(ID, { createdTimeMs: 3 }));
    open.add(pastEvent(1, 'queued', 'rack/main'));
    const first = open.take();
    open.add(pastEvent(2, 'taken', 'rack/main'));

    expect(first).toMatchObject({ id: ID, facts: { createdMs: 3, labels: ['small'] }, events: [{ what: 'queued' }] });
    expect(open.take()).toEqual({ kind: 'request', id: ID, events: [pastEvent(2, 'taken', 'rack/main')] });
    expect(open.isDirty).toBe(false);
  });

  it('writes with its first line what it waits for, so that a killed launcher leaves it in the file', () => {
    const open = new OpenRequest(request(ID, {}));
    const group = new GroupLog('rack/main', 'small', () => {});
    open.queued.push({ pool: 'rack/main', membership: group.join(1) });
    group.waits(1, 'pool-full', 'full', 'other');
    open.add(pastEvent(1, 'queued', 'rack/main'));
    const whats = (events: readonly { what: string }[] = []) => events.map(({ what }) => what);
    const lines = [open.take(), open.take()].map((line) => (line.kind === 'alive' ? [] : whats(line.events)));

    expect(lines).toEqual([['queued', 'behind'], []]);
    expect(whats(open.eventsNow())).toEqual(['queued', 'behind']);
  });

  it('notices when the rule changes by which a pool does not serve it', () => {
    const open = new OpenRequest(request(ID, {}));
    const changes = [
      open.leftBy('a/main', 'paused-by-operator'),
      open.leftBy('a/main', 'paused-by-operator'),
      open.leftBy('b/main', 'paused-by-operator'),
      open.leftBy('a/main', undefined),
      open.leftBy('a/main', 'paused-by-operator'),
    ];

    expect(changes).toEqual([true, false, true, true, true]);
  });

  it('drops an unwritten event that the next one makes redundant, but never a written one', () => {
    const open = new OpenRequest(request(ID, {}));
    const isQueued = ({ what }: { what: string }) => what === 'queued';
    open.add(pastEvent(1, 'queued'));
    open.take();
    open.dropLast(isQueued);
    open.add(pastEvent(2, 'queued'));
    open.dropLast(isQueued);

    expect(open.events.map(({ timeMs }) => timeMs)).toEqual([1]);
  });

  it('limits the events in memory without losing one that is not written', () => {
    const open = new OpenRequest(request(ID, {}));
    let written = 0;
    for (let i = 0; i < 2_000; i++) {
      open.add(pastEvent(i, 'queued'));
      const line = i % 7 === 0 ? open.take() : undefined;
      if (line && line.kind !== 'alive') written += line.events.length;
    }
    const rest = open.take();
    if (rest.kind !== 'alive') written += rest.events.length;

    expect(written).toBe(2_000);
    expect(open.events.length).toBeLessThanOrEqual(400);
    expect([open.events[0]?.timeMs, open.events.at(-1)?.timeMs]).toEqual([0, 1_999]);
  });
});

describe('an open node', () => {
  it('notes states, errors, its allocation and its end', () => {
    const made = node('7', { state: 'building' });
    const open = new OpenNode(made);
    const failed = { ...made, launchError: 'no quota' };
    const ready = { ...failed, state: 'ready' as const, allocatedTo: request(ID, {}).id };
    const results = [
      open.changed(undefined, made, 1),
      open.changed(made, made, 2),
      open.changed(made, failed, 3),
      open.changed(failed, ready, 4),
      open.changed(ready, undefined, 5),
    ];

    expect(results).toEqual([true, false, true, true, true]);
    expect(open.events.map(({ what, rule, text }) => `${what} ${rule}${text}`)).toEqual([
      ...['state building', 'error no quota', `allocated ${ID}`, 'state ready', 'gone '],
    ]);
  });

  it('names resources besides its one instance', () => {
    expect(new OpenNode(node('7', { resources: { instances: 1, cores: 8 } })).facts.resources).toEqual({ cores: 8 });
    expect(new OpenNode(node('7', { resources: { instances: 1 } })).facts.resources).toBeUndefined();
  });
});

describe('a node', () => {
  const first = (changes: Parameters<typeof node>[1]) => new OpenNode(node('0000000001', changes));
  const eventsOf = (before: Parameters<typeof node>[1], after: Parameters<typeof node>[1]) => {
    const open = first(after);
    open.changed(node('0000000001', before), node('0000000001', after), 5);
    return open.events;
  };

  it('names its tenant, the project that uses it, and the lease that holds it', () => {
    const userData = { zuul_system: 's', project_name: 'org/project' };

    expect(first({ tenantName: 'a' }).facts).toMatchObject({ tenant: 'a' });
    expect(first({}).facts).not.toHaveProperty('tenant');
    expect(eventsOf({}, { state: 'in-use', userData })).toEqual([pastEvent(5, 'state', '', 'in-use', 'org/project')]);
    expect(eventsOf({}, { state: 'in-use', userData: 'text' })).toEqual([pastEvent(5, 'state', '', 'in-use')]);
    expect(eventsOf({}, { state: 'hold', userData: { lease: 'a1' } })).toEqual([
      pastEvent(5, 'state', '', 'hold', 'lease'),
    ]);
    expect(eventsOf({}, { state: 'hold', comment: 'mine' })).toEqual([pastEvent(5, 'state', '', 'hold')]);
  });

  it('tells why it is deleted, which is not what a person noted about it', () => {
    const why = { state: 'deleting', comment: 'ready for longer than max-ready-age' } as const;

    expect(eventsOf({}, why)).toEqual([pastEvent(5, 'state', '', 'deleting', why.comment)]);
    expect(eventsOf({ comment: 'mine' }, { state: 'deleting', comment: 'mine' })[0]?.text).toBe('');
  });

  it('tells when it is free again', () => {
    expect(eventsOf({ allocatedTo: '200-1' as never }, {})).toEqual([pastEvent(5, 'allocated')]);
    expect(eventsOf({ allocatedTo: '200-1' as never }, { state: 'hold', userData: { lease: 'a1' } })).toHaveLength(1);
  });
});
