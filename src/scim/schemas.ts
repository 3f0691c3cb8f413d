/** The schemas of users and groups (RFC 7643, sections 4 and 8.7). */

/** An attribute. What is absent has the default of RFC 7643, section 2.2. */
export interface Attribute {
  readonly name: string;
  readonly type: "string" | "boolean" | "dateTime" | "reference" | "binary" | "complex";
  readonly description: string;
  readonly multiValued?: boolean;
  readonly required?: boolean;
  readonly caseExact?: boolean;
  readonly mutability?: "readWrite" | "readOnly" | "immutable";
  readonly uniqueness?: "none" | "server";
  readonly referenceTypes?: readonly string[];
  readonly canonicalValues?: readonly string[];
  readonly subAttributes?: readonly Attribute[];
}

/** A schema. */
export interface Schema {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
}

/** A type of resources. */
export interface ResourceType {
  readonly id: "User" | "Group";
  readonly endpoint: string;
  readonly schema: Schema;
  readonly extension?: Schema;
  /** The attributes outside of the extension. */
  readonly attributes: readonly Attribute[];
}

const text = (name: string, description: string, more: Partial<Attribute> = {}): Attribute => ({
  name,
  type: "string",
  description,
  ...more,
});

const value = (description: string, more: Partial<Attribute> = {}) => text("value", description, more);
const display = text("display", "A name for people.");
const primary: Attribute = { name: "primary", type: "boolean", description: "Whether it is the preferred one." };
const kind = (...canonicalValues: readonly string[]) => text("type", "What it is for.", { canonicalValues });

const complex = (name: string, description: string, subAttributes: readonly Attribute[]): Attribute => ({
  name,
  type: "complex",
  description,
  subAttributes,
});
const many = (name: string, description: string, subAttributes: readonly Attribute[]): Attribute => ({
  ...complex(name, description, subAttributes),
  multiValued: true,
});

/** The attributes that every resource has. */
const commonAttributes: readonly Attribute[] = [
  text("id", "The id of the resource.", { caseExact: true, mutability: "readOnly", uniqueness: "server" }),
  text("externalId", "The id that the provisioning client has for it.", { caseExact: true }),
  {
    ...complex("meta", "About the resource itself.", [
      text("resourceType", "Its type.", { caseExact: true, mutability: "readOnly" }),
      { name: "created", type: "dateTime", description: "When it was created.", mutability: "readOnly" },
      { name: "lastModified", type: "dateTime", description: "When it changed last.", mutability: "readOnly" },
      text("location", "Its address.", { caseExact: true, mutability: "readOnly" }),
      text("version", "Its version, an entity tag.", { caseExact: true, mutability: "readOnly" }),
    ]),
    mutability: "readOnly",
  },
];

const user: Schema = {
  id: "urn:ietf:params:scim:schemas:core:2.0:User",
  name: "User",
  description: "A user of the organisation.",
  attributes: [
    text("userName", "The name by which the user is known to the provisioning client.", {
      required: true,
      uniqueness: "server",
    }),
    complex("name", "The parts of the user's name.", [
      text("formatted", "The whole name, for display."),
      text("familyName", "The family name."),
      text("givenName", "The given name."),
      text("middleName", "The middle names."),
      text("honorificPrefix", "A title before the name."),
      text("honorificSuffix", "A title after the name."),
    ]),
    text("displayName", "The name to show."),
    text("nickName", "The casual name."),
    { name: "profileUrl", type: "reference", referenceTypes: ["external"], description: "A page about the user." },
    text("title", 'The title, such as "Vice President".'),
    text("userType", "The relation to the organisation."),
    text("preferredLanguage", "The preferred languages, as in Accept-Language."),
    text("locale", "The default location, for formats: en-US."),
    text("timezone", "The time zone: Europe/Vienna."),
    { name: "active", type: "boolean", description: "Whether the user may sign in." },
    many("emails", "E-mail addresses.", [value("The address."), display, kind("work", "home", "other"), primary]),
    many("phoneNumbers", "Phone numbers.", [
      value("The number."),
      display,
      kind("work", "home", "mobile", "fax", "pager", "other"),
      primary,
    ]),
    many("ims", "Addresses for instant messages.", [value("The address."), display, kind(), primary]),
    many("photos", "Addresses of photos.", [
      { name: "value", type: "reference", referenceTypes: ["external"], description: "The address." },
      display,
      kind("photo", "thumbnail"),
      primary,
    ]),
    many("addresses", "Postal addresses.", [
      text("formatted", "The whole address."),
      text("streetAddress", "Street and number."),
      text("locality", "The city."),
      text("region", "The state or region."),
      text("postalCode", "The postal code."),
      text("country", "The country."),
      kind("work", "home", "other"),
      primary,
    ]),
    {
      ...many("groups", "The groups that the user is in.", [
        value("The id of the group.", { mutability: "readOnly" }),
        {
          name: "$ref",
          type: "reference",
          referenceTypes: ["Group"],
          description: "The address of the group.",
          mutability: "readOnly",
        },
        { ...display, mutability: "readOnly" },
        { ...kind("direct", "indirect"), mutability: "readOnly" },
      ]),
      mutability: "readOnly",
    },
    many("entitlements", "What the user is entitled to, for the client alone.", [
      value("The entitlement."),
      display,
      kind(),
      primary,
    ]),
    many("roles", "The user's roles, for the client alone.", [value("The role."), display, kind(), primary]),
    many("x509Certificates", "Certificates.", [
      { name: "value", type: "binary", description: "The certificate, in base64.", caseExact: true },
      display,
      kind(),
      primary,
    ]),
  ],
};

const enterprise: Schema = {
  id: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
  name: "EnterpriseUser",
  description: "A user's place in a company.",
  attributes: [
    text("employeeNumber", "The number of the employee."),
    text("costCenter", "The cost centre."),
    text("organization", "The organisation."),
    text("division", "The division."),
    text("department", "The department."),
    complex("manager", "The manager.", [
      value("The id of the manager."),
      { name: "$ref", type: "reference", referenceTypes: ["User"], description: "The address of the manager." },
      text("displayName", "The manager's name.", { mutability: "readOnly" }),
    ]),
  ],
};

const group: Schema = {
  id: "urn:ietf:params:scim:schemas:core:2.0:Group",
  name: "Group",
  description: "A group of users. External group role mappings give it roles.",
  attributes: [
    text("displayName", "The name of the group.", { required: true }),
    many("members", "The users in the group.", [
      value("The id of the user.", { mutability: "immutable" }),
      {
        name: "$ref",
        type: "reference",
        referenceTypes: ["User"],
        description: "The address of the user.",
        mutability: "immutable",
      },
      { ...kind("User"), mutability: "immutable" },
    ]),
  ],
};

/** Every type, by the path of its endpoint. */
export const resourceTypes: readonly ResourceType[] = [
  {
    id: "User",
    endpoint: "/Users",
    schema: user,
    extension: enterprise,
    attributes: [...user.attributes, ...commonAttributes],
  },
  { id: "Group", endpoint: "/Groups", schema: group, attributes: [...group.attributes, ...commonAttributes] },
];

/** Every schema. */
export const schemas: readonly Schema[] = [user, enterprise, group];

/** An attribute with all its characteristics, as a schema document shows it. */
export function describeAttribute(attribute: Attribute): object {
  const { name, type, description, referenceTypes, canonicalValues, subAttributes } = attribute;
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    caseExact: attribute.caseExact ?? (type === "reference" || type === "binary"),
    mutability: attribute.mutability ?? "readWrite",
    returned: name === "id" ? "always" : "default",
    uniqueness: attribute.uniqueness ?? "none",
    ...(referenceTypes !== undefined && { referenceTypes }),
    ...(canonicalValues !== undefined && canonicalValues.length > 0 && { canonicalValues }),
    ...(subAttributes !== undefined && { subAttributes: subAttributes.map(describeAttribute) }),
  };
}
