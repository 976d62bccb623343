/** Stores a file of the reader, and resolves to its address. */
export type Upload = (file: File) => Promise<string>;

let upload: Upload | undefined;

/**
 * Lets users add pictures and other files to comments. It is required for uploads, because the
 * service only stores addresses.
 */
export function setUploads(own: Upload): void {
  upload = own;
}

export const uploadOf = (): Upload | undefined => upload;
