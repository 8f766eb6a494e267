/** The parts of statsd-client 0.4 that are used; it brings no typings. Calls append a line to the socket they are given. */
declare module 'statsd-client' {
  interface LineSocket {
    send(line: string): void;
    close(): void;
  }

  class StatsDClient {
    constructor(options: { readonly _socket: LineSocket });
    gauge(name: string, value: number): this;
    counter(name: string, delta: number): this;
    /** A text is sent as it is. */
    timing(name: string, ms: number | string): this;
  }

  export = StatsDClient;
}
