// Package skill gives a run the skills of a few folders, in the Agent Skills
// format: a skill is a folder with a SKILL.md, whose front matter says what the
// skill is for and whose body are its instructions, and with any further files.
//
// A [Catalog] lists the skills for each request ([Catalog.List] is to be attached), gives
// a body by the tool load_skill and another file by read_skill_file. Both read
// and nothing else. A skill grants no right: what it tells the model to do goes
// the way of every call, and its allowed-tools can only narrow what the rest of
// the run may call. [Install] unpacks an archive of one skill whole or not at
// all.
package skill

// ManifestName is the file that makes a folder a skill.
const ManifestName = "SKILL.md"

// Bounds of a skill and of a catalog.
const (
	MaxName          = 64       // characters
	MaxDescription   = 1024     // characters
	MaxCompatibility = 500      // characters
	MaxManifest      = 64 << 10 // bytes of a SKILL.md
	MaxFiles         = 1000     // files of a skill, and folders
	MaxSize          = 16 << 20 // bytes of all files of a skill
	MaxFile          = 1 << 20  // bytes of a file that can be read
	MaxShown         = 64 << 10 // bytes shown of a file: its head and its tail
	MaxPath          = 512      // bytes of a file's path inside its skill
	MaxSkills        = 64       // skills of a catalog
	MaxList          = 32 << 10 // bytes of the list in a request

	maxMetadata = 64  // keys
	maxAllowed  = 128 // entries of allowed-tools
	maxPattern  = 200 // bytes of one of them
	maxLicense  = 500 // characters
)

// Skill is a skill that was read and found whole. Do not change it.
type Skill struct {
	Name          string
	Description   string
	License       string            // empty: not said
	Compatibility string            // what it needs; empty: nothing that it says
	Metadata      map[string]string // nil: none
	// AllowedTools are the names and patterns of tools that a run may call once
	// it has loaded the skill, beside the two tools of the catalog. nil: the
	// skill narrows nothing.
	AllowedTools []string
	Body         string // the instructions
	// Files are the regular files beside SKILL.md, in order. Names that begin
	// with a dot and symbolic links are no part of a skill: Notes name them.
	Files []File
	// Digest is the SHA-256 of all of it, in hexadecimal.
	Digest string
	// Notes say in words what is odd about the skill, and was passed over.
	Notes []string
}

// File is a file of a skill.
type File struct {
	Path   string // inside the skill, with slashes
	Size   int64
	Digest string // SHA-256, in hexadecimal
}
