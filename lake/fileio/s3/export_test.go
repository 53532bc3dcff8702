package s3

// Most is the most memory that was out at once, in bytes.
func (b *Buffers) Most() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.most) * chunkBytes
}

// Out is the memory that is out now, in bytes.
func (b *Buffers) Out() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.out) * chunkBytes
}
