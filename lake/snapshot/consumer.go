package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/tributary-lake/tributary/lake/fileio"
)

func (m Manager) consumerPath(id string) string {
	return path.Join(m.Table, "consumer", "consumer-"+id)
}

// CreateConsumer keeps all snapshots from next on from expiring, for as long as the consumer is there (and the table's
// option consumer.expiration-time, judged by the file's time, allows).
func (m Manager) CreateConsumer(ctx context.Context, id string, next ID) error {
	if err := checkID("consumer", id); err != nil {
		return err
	}
	data := fmt.Appendf(nil, "{\n  \"nextSnapshot\" : %d\n}", next)
	if err := fileio.WriteFile(ctx, m.Store, m.consumerPath(id), data); err != nil {
		return fmt.Errorf("create consumer %s: %w", id, err)
	}
	return nil
}

// Consumer returns the first snapshot that a consumer keeps, 0 when there is no such consumer.
func (m Manager) Consumer(ctx context.Context, id string) (ID, error) {
	if err := checkID("consumer", id); err != nil {
		return 0, err
	}
	return m.consumer(ctx, id)
}

func (m Manager) consumer(ctx context.Context, id string) (ID, error) {
	data, err := fileio.ReadFile(ctx, m.Store, m.consumerPath(id), maxFileSize)
	if errors.Is(err, fileio.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("consumer %s: %w", id, err)
	}
	var c struct {
		NextSnapshot ID `json:"nextSnapshot"`
	}
	if err := json.Unmarshal(data, &c); err != nil || c.NextSnapshot < 0 {
		return 0, fmt.Errorf("consumer %s: %w: %.100q", id, ErrCorrupt, data)
	}
	return c.NextSnapshot, nil
}

// Consumers returns all consumers and the first snapshot that each keeps. One that goes while they are read is left out; one
// that cannot be read is an error, for what it keeps must not be lost.
func (m Manager) Consumers(ctx context.Context) (map[string]ID, error) {
	folder := path.Join(m.Table, "consumer")
	var ids []string
	err := m.Store.List(ctx, folder, func(info fileio.Info) error {
		if id, ok := strings.CutPrefix(info.Path, folder+"/consumer-"); ok && !strings.Contains(id, "/") {
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	list := map[string]ID{}
	for _, id := range ids {
		next, err := m.consumer(ctx, id)
		if err != nil {
			return nil, err
		}
		if next > 0 {
			list[id] = next
		}
	}
	return list, nil
}

// DeleteConsumer lets snapshots expire again; a missing consumer is no error.
func (m Manager) DeleteConsumer(ctx context.Context, id string) error {
	if err := checkID("consumer", id); err != nil {
		return err
	}
	if err := m.Store.Delete(ctx, m.consumerPath(id)); err != nil {
		return fmt.Errorf("delete consumer %s: %w", id, err)
	}
	return nil
}
