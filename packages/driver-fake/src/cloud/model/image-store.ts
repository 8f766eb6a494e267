import type { UploadedImage } from './types.js';

/** Uploaded images by id. */
export class ImageStore {
  readonly #images = new Map<string, UploadedImage>();

  all(): UploadedImage[] {
    return [...this.#images.values()];
  }

  get(id: string): UploadedImage | undefined {
    return this.#images.get(id);
  }

  /** Whether a complete image exists. @param image - id or name */
  isUsable(image: string): boolean {
    return this.all().some(({ id, name, partial }) => partial !== true && (name === image || id === image));
  }

  add(image: UploadedImage): void {
    this.#images.set(image.id, image);
  }

  /** @returns whether it existed */
  remove(id: string): boolean {
    return this.#images.delete(id);
  }
}
