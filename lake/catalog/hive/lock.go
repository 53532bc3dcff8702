package hive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metastore "github.com/beltran/gohive/hive_metastore"

	"github.com/tributary-lake/tributary/lake/catalog"
)

var (
	// ErrLocked is returned when a lock was not given in time: others hold it.
	ErrLocked = errors.New("the table is locked by others")
	// ErrLockLost is the cause of a context whose lock the metastore ended, as it does when no heartbeat reaches it.
	ErrLockLost = errors.New("the lock was lost")
)

// LockConfig bounds and paces locks.
type LockConfig struct {
	// Wait is how long to wait for one; 0 is Paimon's lock-acquire-timeout, 8 minutes.
	Wait time.Duration
	// MaxPause is the longest pause between two looks whether it is given; 0 is Paimon's lock-check-max-sleep, 8 seconds.
	MaxPause time.Duration
	// Heartbeat is the pause between two signs of life; 0 is 30 seconds. A metastore ends a lock after 5 minutes without
	// one, unless its metastore.txn.timeout says otherwise.
	Heartbeat time.Duration
}

const firstPause = 50 * time.Millisecond

func (c LockConfig) filled() LockConfig {
	return LockConfig{
		Wait:      cmp.Or(c.Wait, 8*time.Minute),
		MaxPause:  cmp.Or(c.MaxPause, 8*time.Second),
		Heartbeat: cmp.Or(c.Heartbeat, 30*time.Second),
	}
}

// WithLock calls do while it holds the table's lock, which excludes Java's. The context that do gets ends, with ErrLockLost as
// its cause, when the metastore has ended the lock or was out of reach for so long that it may have.
func (c *Catalog) WithLock(ctx context.Context, id catalog.Identifier, do func(ctx context.Context) error) error {
	if err := validate(id); err != nil {
		return err
	}
	lock, err := c.acquire(ctx, id)
	if err != nil {
		return fmt.Errorf("lock %s: %w", id, err)
	}
	held, lose := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.keep(held, lock, lose)
	}()
	err = do(held)
	if cause := context.Cause(held); errors.Is(cause, ErrLockLost) {
		err = errors.Join(err, cause)
	}
	lose(nil)
	<-done
	// A lock that stays ends by its timeout: what was done under it is done.
	if unlock := c.unlock(ctx, lock); unlock != nil && err == nil && !isA[*metastore.NoSuchLockException](unlock) {
		return fmt.Errorf("unlock %s: %w", id, unlock)
	}
	return err
}

func (c *Catalog) acquire(ctx context.Context, id catalog.Identifier) (int64, error) {
	host, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	component := metastore.NewLockComponent()
	component.Type, component.Level = metastore.LockType_EXCLUSIVE, metastore.LockLevel_TABLE
	component.Dbname, component.Tablename = id.Database, &id.Table
	request := metastore.NewLockRequest()
	request.Component, request.User, request.Hostname = []*metastore.LockComponent{component}, owner(), host
	var got *metastore.LockResponse
	// One whose answer is lost is held by nobody until it ends by its timeout. Asking twice would wait for it.
	err = c.client.callOnce(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) (err error) {
		got, err = api.Lock(ctx, request)
		return err
	})
	if err != nil {
		return 0, err
	}
	lock := got.Lockid
	if err := c.await(ctx, got); err != nil {
		return 0, errors.Join(err, c.unlock(ctx, lock))
	}
	return lock, nil
}

// await waits until a lock is given.
func (c *Catalog) await(ctx context.Context, got *metastore.LockResponse) error {
	lock, until, pause := got.Lockid, time.Now().Add(c.lock.Wait), firstPause
	for got.State != metastore.LockState_ACQUIRED {
		if got.State != metastore.LockState_WAITING {
			return fmt.Errorf("%w: the metastore says %s", ErrLocked, got.State)
		}
		if time.Now().After(until) {
			return fmt.Errorf("%w: waited %v", ErrLocked, c.lock.Wait)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		pause = min(2*pause, c.lock.MaxPause)
		err := c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) (err error) {
			got, err = api.CheckLock(ctx, &metastore.CheckLockRequest{Lockid: lock})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// patience is in how many heartbeats without an answer a lock counts as lost.
const patience = 4

// keep sends heartbeats until the context ends.
func (c *Catalog) keep(ctx context.Context, lock int64, lose context.CancelCauseFunc) {
	tick := time.NewTicker(c.lock.Heartbeat)
	defer tick.Stop()
	for answered := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		beat, cancel := context.WithTimeout(ctx, c.lock.Heartbeat)
		err := c.client.call(beat, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
			return api.Heartbeat(ctx, &metastore.HeartbeatRequest{Lockid: &lock})
		})
		cancel()
		switch {
		case err == nil:
			answered = time.Now()
		case isA[*metastore.NoSuchLockException](err), isA[*metastore.TxnAbortedException](err), time.Since(answered) > patience*c.lock.Heartbeat:
			lose(fmt.Errorf("%w: %w", ErrLockLost, err))
			return
		}
	}
}

// unlock gives a lock back, also when the context has ended.
func (c *Catalog) unlock(ctx context.Context, lock int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return c.client.call(ctx, func(ctx context.Context, api *metastore.ThriftHiveMetastoreClient) error {
		return api.Unlock(ctx, &metastore.UnlockRequest{Lockid: lock})
	})
}
