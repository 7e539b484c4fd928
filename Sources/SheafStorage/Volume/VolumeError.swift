/// A failed system call on a file or directory.
package struct VolumeError: Error, Hashable, Sendable {
    /// The call that failed.
    package enum Operation: String, Sendable {
        case list, open, create, size, read, write, synchronize, truncate, map, rename, remove, lock
        case synchronizeNames = "synchronize names of"
    }

    /// The reason: a system error number, or a negative code defined here.
    package struct Code: Hashable, Sendable {
        package let rawValue: Int32

        package init(_ rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// The file ended before all requested bytes were read.
        package static let unexpectedEnd = Code(-1)
        /// The system wrote nothing and reported no error.
        package static let noProgress = Code(-2)
        /// The file is larger than its format allows.
        package static let tooLarge = Code(-3)
        /// The simulated power is off.
        package static let powerCut = Code(-4)
        /// The name belongs to a directory, a pipe, a socket or a device.
        package static let notARegularFile = Code(-5)
        /// The path is empty or contains a zero byte, at which the system would truncate it.
        package static let noPath = Code(-6)
        /// The volume does not support subdirectories.
        package static let noDirectories = Code(-7)
        /// The name belongs to a symbolic link, which could lead out of the directory.
        package static let symbolicLink = Code(-8)
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
