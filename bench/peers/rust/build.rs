fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::Path::new("../../..");
    tonic_prost_build::configure()
        .build_client(false)
        .compile_protos(&[root.join("bench/peers/repos.proto")], &[root.join("bench/peers"), root.join(".proto-deps")])?;
    Ok(())
}
