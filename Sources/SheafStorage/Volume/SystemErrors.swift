import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension VolumeError.Code {
    package static let interrupted = Self(EINTR)
    package static let inputOutput = Self(EIO)
    package static let noSpace = Self(ENOSPC)
    package static let noSuchFile = Self(ENOENT)
    package static let exists = Self(EEXIST)
    package static let notADirectory = Self(ENOTDIR)
    package static let notEmpty = Self(ENOTEMPTY)
    package static let tooManyFiles = Self(EMFILE)
    package static let readOnlyFileSystem = Self(EROFS)
    package static let permissionDenied = Self(EACCES)
    package static let notPermitted = Self(EPERM)
    package static let quotaExceeded = Self(EDQUOT)
    package static let fileTooLarge = Self(EFBIG)
    /// The file is already closed.
    package static let closed = Self(EBADF)
    /// The name is not valid for a file in the directory.
    package static let invalidName = Self(EINVAL)

    /// Whether the disk is full, or a quota or a file size limit is reached.
    package var meansFull: Bool {
        self == .noSpace || self == .quotaExceeded || self == .fileTooLarge
    }

    /// Whether the error concerns the process rather than the file.
    package var isAboutProcess: Bool {
        [.permissionDenied, .notPermitted, .tooManyFiles, Self(ENFILE), Self(ENOMEM)].contains(self)
    }

    /// The error number of the last failed call on this thread.
    static var last: Self { Self(errno) }
}

extension VolumeError: CustomStringConvertible {
    package var description: String {
        "cannot \(operation.rawValue) \(file.shortened(to: ErrorText.limit)): \(code)"
    }
}

extension VolumeError.Code: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unexpectedEnd: "the file ends too early"
        case .noProgress: "the system wrote nothing"
        case .tooLarge: "the file is larger than its format allows"
        case .powerCut: "the power is off"
        case .notARegularFile: "it is not a regular file"
        case .symbolicLink:
            "it is a symbolic link, which a store does not follow; put the file itself in its place"
        case .noDirectories: "this volume has no subdirectories"
        case .noPath: "the path is empty or contains a zero byte"
        default: String(cString: strerror(rawValue))
        }
    }
}
