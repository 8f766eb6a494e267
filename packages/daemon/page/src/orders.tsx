import { useAccess } from './access.js';
import { Ago, Outcome, Section, State, Table } from './parts.js';
import { fieldOf } from './text.js';
import type { Control } from './types.js';
import { useWrite, WriteButton } from './write.js';

const KINDS = ['provider', 'pool', 'label', 'image'];
const MODES = ['pause', 'drain', 'limit'];
const MODES_DONE: Readonly<Record<string, string>> = { pause: 'paused', drain: 'draining' };
const SECONDS_PER_HOUR = 3600;

const pathOf = (kind: string, name: string) => `controls/${kind}/${encodeURIComponent(name)}`;

/** What operators have paused, drained or limited; with a token it can be changed here. */
export function Orders({ controls, now }: { controls: readonly Control[]; now: number }) {
  const { mayWrite } = useAccess();
  if (controls.length === 0 && !mayWrite) return null;
  return (
    <Section title="Orders of operators">
      <Table
        lead="Why"
        caption="What operators have paused, drained or limited"
        columns={['What', 'Order', 'By', 'Why', 'Since', 'Until', ...(mayWrite ? ['Take it back'] : [])]}
        rows={controls.map((control) => [
          `${control.kind} ${control.name}`,
          <State
            name={
              control.limit === null ? (MODES_DONE[control.mode] ?? control.mode) : `at most ${control.limit} nodes`
            }
            tone="warn"
          />,
          control.owner,
          control.reason,
          <Ago time={control.created_time} now={now} />,
          control.end_time === null ? 'it is taken back' : new Date(control.end_time * 1000).toLocaleString(),
          ...(mayWrite ? [<ResumeButton kind={control.kind} name={control.name} />] : []),
        ])}
      />
      {mayWrite && <OrderForm />}
    </Section>
  );
}

function ResumeButton({ kind, name }: { kind: string; name: string }) {
  return (
    <WriteButton name={`Resume ${name}`} write={{ method: 'DELETE', path: pathOf(kind, name) }} done="Taken back" />
  );
}

/** In one piece: the fields in the order in which they are shown. */
function OrderForm() {
  const { send, outcome, isBusy } = useWrite();
  const submit = (form: HTMLFormElement) => {
    const value = (name: string) => fieldOf(form, name);
    const hours = value('hours');
    const limit = value('limit');
    const body = {
      mode: value('mode'),
      reason: value('reason'),
      ...(hours !== '' && { seconds: Number(hours) * SECONDS_PER_HOUR }),
      ...(limit !== '' && { limit: Number(limit) }),
    };
    void send({ method: 'POST', path: pathOf(value('kind'), value('name')), body }, 'The order is in force');
  };
  return (
    <form
      class="order"
      aria-label="Give an order"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <label>
        Order <Choice name="mode" values={MODES} />
      </label>
      <label>
        for a <Choice name="kind" values={KINDS} />
      </label>
      <label>
        called <input name="name" required placeholder="name, pool: PROVIDER/POOL" />
      </label>
      <label>
        Nodes (limit) <input name="limit" type="number" min="0" step="1" size={5} />
      </label>
      <label>
        Hours <input name="hours" type="number" min="0.01" step="any" size={5} />
      </label>
      <label>
        Why <input name="reason" maxLength={1000} />
      </label>
      <button type="submit" disabled={isBusy}>
        Give the order
      </button>
      <Outcome text={outcome} />
    </form>
  );
}

function Choice({ name, values }: { name: string; values: readonly string[] }) {
  return (
    <select name={name}>
      {values.map((value) => (
        <option value={value}>{value}</option>
      ))}
    </select>
  );
}
