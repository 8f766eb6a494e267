import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Outcome } from './parts.js';

/** Text to copy, with a button. @param name - what it is, for screen readers */
export function Copyable({ name, text, children }: { name: string; text: string; children: ComponentChildren }) {
  const [outcome, setOutcome] = useState('');
  const shown = useRef<HTMLPreElement>(null);
  const copy = async () => {
    setOutcome('');
    const isCopied = await writeClipboard(text).catch(() => false);
    if (!isCopied && shown.current) getSelection()?.selectAllChildren(shown.current);
    setOutcome(isCopied ? 'Copied' : 'Selected: copy it with the keyboard');
  };
  return (
    <div class="copyable">
      <p>{children}</p>
      <pre ref={shown} tabIndex={0} aria-label={name}>
        {text}
      </pre>
      <button type="button" aria-label={`Copy the ${name}`} onClick={() => void copy()}>
        Copy
      </button>{' '}
      <Outcome text={outcome} />
    </div>
  );
}

/** @returns false where the browser does not let a page copy: without HTTPS, except on this computer */
async function writeClipboard(text: string): Promise<boolean> {
  if (!isSecureContext) return false;
  await navigator.clipboard.writeText(text);
  return true;
}
