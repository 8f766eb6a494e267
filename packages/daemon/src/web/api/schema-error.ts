/** What the validator found, as far as it is used here. */
interface SchemaViolation {
  readonly keyword: string;
  /** Path of the value, with slashes. */
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  ...{ array: 'a list', boolean: 'true or false', integer: 'a whole number', number: 'a number', object: 'an object' },
  ...{ 'object,null': 'an object', string: 'text' },
};

/**
 * The first value of a call that does not match its schema, in words, with the fix.
 * @param part - `body` or `querystring`
 */
export function schemaError(violations: readonly SchemaViolation[], part: string): Error {
  const [first] = violations;
  return new Error(first ? textOf(first, part) : 'The call is not as documented');
}

function textOf({ keyword, instancePath, params, message }: SchemaViolation, part: string): string {
  const place = instancePath.slice(1).replaceAll('/', '.');
  const what = place === '' ? `The ${part === 'querystring' ? 'query' : part}` : `"${place}"`;
  const param = (name: string) => String(params[name]);
  switch (keyword) {
    case 'additionalProperties':
      return `${what} has an unknown member "${param('additionalProperty')}": correct its name, or leave it out`;
    case 'required':
      return `${what} has no "${param('missingProperty')}": add it`;
    case 'type':
      return `${what} has the wrong type: send ${TYPE_NAMES[param('type')] ?? param('type')}`;
    case 'pattern':
      return `${what} has characters that are not allowed, such as control characters: leave them out`;
    case 'minItems':
    case 'minLength':
      return `${what} is empty: give it a value`;
    case 'maxItems':
      return `${what} has more than ${param('limit')} entries: send fewer`;
    case 'maxLength':
      return `${what} has more than ${param('limit')} characters: shorten it`;
    default:
      return `${what} ${message ?? 'is not as documented'}`; // a limit, e.g. "must be <= 60"
  }
}
