#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The permissions of new files and directories, which a umask can restrict further.
///
/// Other users have no access. Existing files keep their permissions, so an administrator can grant
/// more.
enum FileMode {
    static let file: mode_t = 0o600
    static let directory: mode_t = 0o700
    /// The permissions of missing parent directories, which are not specific to the store.
    static let parentDirectory: mode_t = 0o755
}
