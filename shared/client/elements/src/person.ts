/** A person, or a group that is mentioned as one, with its id as userId. */
export interface Person {
  userId: string;
  name?: string | undefined;
  photoUrl?: string;
  group?: boolean;
}

export const nameOf = (p: Person): string => p.name || p.userId;
