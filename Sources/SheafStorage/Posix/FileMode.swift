#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The modes of what a store creates; a umask can only take more away.
///
/// Other users have no access. What exists already keeps its mode, so an administrator can grant more.
enum FileMode {
    static let file: mode_t = 0o600
    static let directory: mode_t = 0o700
    /// The mode of missing directories above the store, which belong to nobody in particular.
    static let parentDirectory: mode_t = 0o755
}
