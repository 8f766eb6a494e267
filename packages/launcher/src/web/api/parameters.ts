/** The id of a record, in a path. */
export const ID = { type: 'string', description: 'Id of the record' };

/** A text by which a list is narrowed, in a query. */
export const filter = (description: string) => ({ type: 'string', description });
