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

  /** Whether there is such an image with all its data. @param image - id or name */
  isUsable(image: string): boolean {
    return this.all().some(({ id, name, partial }) => partial !== true && (name === image || id === image));
  }

  add(image: UploadedImage): void {
    this.#images.set(image.id, image);
  }

  /** @returns whether there was one */
  remove(id: string): boolean {
    return this.#images.delete(id);
  }
}
