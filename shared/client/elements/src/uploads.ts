/** Stores a file of the reader, and resolves to its address. */
export type Upload = (file: File) => Promise<string>;

let upload: Upload | undefined;

/** Lets people add pictures and other files to comments. Without it they cannot: the service stores addresses, and no files. */
export function setUploads(own: Upload): void {
  upload = own;
}

export const uploadOf = (): Upload | undefined => upload;
