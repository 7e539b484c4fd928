/// What the operating system said when it refused a call on a file.
package struct VolumeError: Error, Hashable, Sendable {
    /// The call that was refused.
    package enum Operation: String, Sendable {
        case list, open, create, size, read, write, synchronize, truncate, map, rename, remove, lock
        case synchronizeNames = "synchronize names of"
    }

    /// The reason: an error number of the system, or one of our own (negative).
    package struct Code: Hashable, Sendable {
        package let rawValue: Int32

        package init(_ rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// The file ended where more bytes were due.
        package static let unexpectedEnd = Code(-1)
        /// The system wrote nothing and gave no reason.
        package static let noProgress = Code(-2)
        /// The file is larger than its format allows.
        package static let tooLarge = Code(-3)
        /// The power is off (only in simulations).
        package static let powerCut = Code(-4)
        /// The name is that of a directory, a pipe, a socket or a device.
        package static let notARegularFile = Code(-5)
        /// The path is empty, or the system would cut it at a zero byte.
        package static let noPath = Code(-6)
        /// Directories of this kind have no others in them (only in simulations).
        package static let noDirectories = Code(-7)
    }

    package let operation: Operation
    package let file: String
    package let code: Code

    package init(_ operation: Operation, _ file: String, _ code: Code) {
        self.operation = operation
        self.file = file
        self.code = code
    }
}
