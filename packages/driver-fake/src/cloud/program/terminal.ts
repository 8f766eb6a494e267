/** What the program needs of its process. */
export interface Terminal {
  print(text: string): void;
  complain(text: string): void;
  /** Calls `stop` when the process is asked to end. */
  onStop(stop: () => void): void;
}
