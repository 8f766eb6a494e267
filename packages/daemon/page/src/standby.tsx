import { stepPath } from './curve.js';
import { usePolled } from './live.js';
import { Section } from './parts.js';

const CHART = { width: 600, height: 80 };

/** A label with `standby`, as `/api/v1/standby` lists it. */
interface StandbyLabel {
  readonly label: string;
  readonly nodes: number;
  readonly reason: string;
  readonly is_fallback: boolean;
  /** Quarters of an hour of the last day; `null`: not known. */
  readonly slots: readonly { readonly time: number; readonly kept: number | null; readonly needed: number | null }[];
}

/** The standby nodes of labels that have `standby`: kept and needed during the last day, and why so many now. */
export function StandbySection() {
  const labels = usePolled<readonly StandbyLabel[]>('standby');
  if (!labels || labels.length === 0) return null;
  return (
    <Section
      title="Standby nodes"
      note="The last 24 hours: nodes kept, and the number with which no request waits (dashed)"
    >
      {labels.map((label) => (
        <Curve key={label.label} label={label} />
      ))}
    </Section>
  );
}

function Curve({ label: { label, nodes, reason, slots } }: { label: StandbyLabel }) {
  const [kept, needed] = [slots.map((slot) => slot.kept), slots.map((slot) => slot.needed)];
  const [mostKept, mostNeeded] = [kept, needed].map((values) => Math.max(0, ...values.map((value) => value ?? 0)));
  const size = { ...CHART, most: Math.max(1, mostKept ?? 0, mostNeeded ?? 0) };
  const text = `${label}: ${nodes} to keep now; at most ${mostKept} kept and ${mostNeeded} needed during the last 24 hours`;
  return (
    <figure class="curve">
      <figcaption>
        <strong>{label}</strong>: {nodes} to keep, as {reason}
      </figcaption>
      <svg viewBox={`0 -2 ${CHART.width} ${CHART.height + 4}`} role="img" aria-label={text}>
        <path class="needed" d={stepPath(needed, size)} />
        <path class="kept" d={stepPath(kept, size)} />
      </svg>
      <p class="note">
        At most {mostKept} kept, {mostNeeded} needed.
      </p>
    </figure>
  );
}
