/** Logging configuration in dict style with three files in a directory: `a.log`, `b.log` (rotated by size), `c.log` (by time). */
export const dictConfig = (dir: string) => `
version: 1
disable_existing_loggers: false
formatters:
  simple: {format: '%(levelname)-8s|%(name)s|%(message)s'}
  dated: {format: '%(asctime)s %(message)s', datefmt: '%Y'}
handlers:
  console: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: simple, level: WARNING}
  file: {class: logging.handlers.WatchedFileHandler, filename: ${dir}/a.log, formatter: simple}
  sized: {class: logging.handlers.RotatingFileHandler, filename: ${dir}/b.log, maxBytes: 10, backupCount: 2, formatter: dated}
  timed: {class: logging.handlers.TimedRotatingFileHandler, filename: ${dir}/c.log, when: midnight, backupCount: 3}
loggers:
  nodepool: {level: DEBUG, handlers: [file, timed]}
  nodepool.zk: {level: ERROR, handlers: [sized], propagate: false}
root: {level: WARNING, handlers: [console]}
`;
